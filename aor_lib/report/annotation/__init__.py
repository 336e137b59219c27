"""People annotate clips and answers, and agree or not with each other and with judges."""
