CREATE TABLE `budgets_next` (
	`id` integer PRIMARY KEY NOT NULL,
	`project_id` integer NOT NULL REFERENCES `projects`(`id`),
	`period` text NOT NULL CHECK (`period` IN ('daily', 'weekly', 'monthly', 'rolling', 'lifetime')),
	`window_ms` integer,
	`cap_nano_usd` integer NOT NULL CHECK (`cap_nano_usd` >= 0),
	`alert_percent` integer NOT NULL CHECK (`alert_percent` BETWEEN 1 AND 100),
	`cap_version` integer NOT NULL,
	`current_start` integer NOT NULL,
	`created_at` integer NOT NULL,
	`removed_at` integer,
	`window_from` integer,
	`window_posted_nano_usd` integer,
	`repo` text DEFAULT '' NOT NULL,
	`scope_kind` text DEFAULT '' NOT NULL,
	`scope_value` text DEFAULT '' NOT NULL,
	`key_id` integer DEFAULT 0 NOT NULL
) STRICT;
--> statement-breakpoint
INSERT INTO `budgets_next` (`id`, `project_id`, `period`, `window_ms`, `cap_nano_usd`, `alert_percent`, `cap_version`,
	`current_start`, `created_at`, `removed_at`, `window_from`, `window_posted_nano_usd`, `repo`)
	SELECT `id`, `project_id`, `period`, `window_ms`, `cap_nano_usd`, `alert_percent`, `cap_version`, `current_start`,
	`created_at`, `removed_at`, `window_from`, `window_posted_nano_usd`, `repo` FROM `budgets`;
--> statement-breakpoint
DROP TABLE `budgets`;
--> statement-breakpoint
ALTER TABLE `budgets_next` RENAME TO `budgets`;
--> statement-breakpoint
CREATE UNIQUE INDEX `budgets_live` ON `budgets` (`project_id`, `period`, `repo`, `scope_kind`, `scope_value`) WHERE `removed_at` IS NULL;
--> statement-breakpoint
CREATE TABLE `runs` (
	`id` text PRIMARY KEY NOT NULL,
	`key_id` integer NOT NULL,
	`lock_path` text NOT NULL
) STRICT;
