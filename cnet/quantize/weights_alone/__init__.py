"""What the quantizer ``auto`` finds out from the weights alone: step sizes by tensor, and where errors cancel."""
