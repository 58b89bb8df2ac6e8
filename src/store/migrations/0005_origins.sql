ALTER TABLE `requests` ADD COLUMN `process_id` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `requests` ADD COLUMN `repo_id` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `holds` ADD COLUMN `process_id` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `holds` ADD COLUMN `repo_id` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
CREATE TABLE `usage_origins` (
	`bucket` integer NOT NULL,
	`project_id` integer NOT NULL,
	`process_id` integer NOT NULL,
	`repo_id` integer NOT NULL,
	`requests` integer NOT NULL,
	`blocked_requests` integer NOT NULL,
	`failed_requests` integer NOT NULL,
	`unpriced_requests` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`cache_write_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`reasoning_tokens` integer NOT NULL,
	`saved_tokens` integer NOT NULL,
	`cost_nano_usd` integer NOT NULL,
	`saved_nano_usd` integer NOT NULL,
	PRIMARY KEY (`bucket`, `project_id`, `process_id`, `repo_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `budgets` ADD COLUMN `repo` text DEFAULT '' NOT NULL;
--> statement-breakpoint
DROP INDEX `budgets_live`;
--> statement-breakpoint
CREATE UNIQUE INDEX `budgets_live` ON `budgets` (`project_id`, `period`, `repo`) WHERE `removed_at` IS NULL;
