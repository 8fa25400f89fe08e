"""CronJobs: a Job at each time of a schedule, and the last few of those that are over."""
