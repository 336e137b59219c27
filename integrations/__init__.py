"""Tasks that give the study to other frameworks of evaluation."""
