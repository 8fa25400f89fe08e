"""What every controller is made of: queue, reconcile loop, leader election, events."""
