"""The kinds of batch: Job and CronJob."""
