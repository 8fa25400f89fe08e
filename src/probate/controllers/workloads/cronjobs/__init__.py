"""CronJobs: a Job for each time of a schedule, and a limited history of finished Jobs."""
