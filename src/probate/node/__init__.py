"""The node agent: pods, image and container clean-up, over CRI."""
