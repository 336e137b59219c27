"""How the weights of the default judge were fitted to answers that people labelled."""
