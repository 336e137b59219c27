"""Plan a study's trials, run the models on them, record the answers, and exchange results."""
