import numpy as np

from reference.mishearing import mishearing

TEXTS = ("Where is the knife?", "How do I write a life?", "Take the nice light off at nine.")


def heard(text, count=40):
    misheard, rng = mishearing(TEXTS), np.random.default_rng(0)
    return [misheard(text, rng) for _ in range(count)]


def test_one_or_two_words_are_taken_for_others_that_sound_like_them():
    found = [said.rstrip("?").split() for said in heard("Where is the knife?")]
    asked = ["Where", "is", "the", "knife"]
    assert {sum(a != b for a, b in zip(words, asked, strict=True)) for words in found} == {1, 2}
    instead_of_knife = {words[3] for words in found} - {"knife"}
    assert instead_of_knife <= {"life", "nice", "light", "nine", "write", "i"}


def test_a_word_that_no_text_holds_is_heard_as_it_is():
    assert set(heard("Zygote?")) == {"Zygote?"}
