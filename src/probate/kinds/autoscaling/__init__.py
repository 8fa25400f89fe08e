"""The kinds of autoscaling: HorizontalPodAutoscaler, in both versions."""
