import torch

from aor_lib.models.integers import IntegerLinear, with_integers


def linear(inputs=96, outputs=40):
    torch.manual_seed(0)
    return torch.nn.Linear(inputs, outputs, bias=False)


def test_a_layer_gives_nearly_what_it_gives_with_floats():
    layer, rows = linear(), torch.randn(2, 5, 96)
    found, exact = IntegerLinear(layer)(rows), layer(rows)
    assert found.shape == exact.shape
    assert (found - exact).norm() < 0.03 * exact.norm()


def test_a_row_gets_exactly_what_it_gets_alone():
    layer, rows = IntegerLinear(linear()), torch.randn(33, 96)
    rows[0] *= 1000
    alone = torch.cat([layer(row[None]) for row in rows])
    assert layer(rows).equal(alone)


def test_nothing_in_gives_nothing_out():
    assert IntegerLinear(linear())(torch.zeros(3, 96)).equal(torch.zeros(3, 40))


def test_pairs_of_products_fit_into_sixteen_bits():
    largest = int(IntegerLinear(linear()).weight.abs().max())
    assert 2 * 255 * largest < 2**15


def test_every_linear_layer_of_a_network_is_replaced_and_nothing_else():
    network = torch.nn.Sequential(linear(), torch.nn.SiLU(), torch.nn.Sequential(linear(40)))
    with_integers(network)
    kinds = [type(one).__name__ for one in network.modules()]
    assert kinds == ["Sequential", "IntegerLinear", "SiLU", "Sequential", "IntegerLinear"]
