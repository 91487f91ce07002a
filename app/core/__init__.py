"""What the front end and the workers share: settings, database, stored files, the job queue, jobs."""
