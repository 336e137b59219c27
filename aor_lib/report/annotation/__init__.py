"""People label clips and answers, and how far they agree with each other and with judges."""
