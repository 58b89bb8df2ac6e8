-- Batches: what their input files ask for, the files of their results, and what is kept of the request until a job ends.
ALTER TABLE `jobs` ADD COLUMN `result_id` text;
--> statement-breakpoint
ALTER TABLE `jobs` ADD COLUMN `record` text;
--> statement-breakpoint
CREATE TABLE `batch_files` (
	`provider` text NOT NULL,
	`file_id` text NOT NULL,
	`bound` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`provider`, `file_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `batch_files_age` ON `batch_files` (`created_at`);
