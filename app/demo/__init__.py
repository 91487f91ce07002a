"""``cnet demo``: all steps on real data, from training to a bundle whose accuracy is measured again."""
