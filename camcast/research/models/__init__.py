"""Models: what theory predicts, in closed forms with the numbers of the papers' equations."""
