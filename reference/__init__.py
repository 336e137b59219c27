"""How the weights of the reference models were made: material, training and measurement."""
