"""The listening explorer: every stimulus of a study to hear, beside what each model answered."""
