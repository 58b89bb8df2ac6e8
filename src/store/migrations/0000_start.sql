CREATE TABLE `meta` (
	`key` text PRIMARY KEY NOT NULL,
	`value` integer NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `meta` (`key`, `value`) VALUES ('configuration_epoch', 1);
--> statement-breakpoint
CREATE TABLE `projects` (
	`id` integer PRIMARY KEY NOT NULL,
	`name` text NOT NULL UNIQUE COLLATE NOCASE,
	`plan` text DEFAULT 'pro' NOT NULL CHECK (`plan` IN ('free', 'pro', 'team')),
	`created_at` integer NOT NULL,
	`paused_at` integer,
	`removed_at` integer
) STRICT;
--> statement-breakpoint
CREATE TABLE `keys` (
	`id` integer PRIMARY KEY NOT NULL,
	`project_id` integer NOT NULL REFERENCES `projects`(`id`),
	`hash` blob NOT NULL UNIQUE,
	`hint` text NOT NULL,
	`label` text,
	`admin` integer NOT NULL CHECK (`admin` IN (0, 1)),
	`created_at` integer NOT NULL,
	`revoked_at` integer
) STRICT;
--> statement-breakpoint
CREATE TABLE `price_overrides` (
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`rates` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY (`provider`, `model`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `daemons` (
	`slot` integer PRIMARY KEY NOT NULL,
	`instance_id` text NOT NULL UNIQUE,
	`pid` integer NOT NULL,
	`lock_path` text NOT NULL,
	`started_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `budgets` (
	`id` integer PRIMARY KEY NOT NULL,
	`project_id` integer NOT NULL REFERENCES `projects`(`id`),
	`period` text NOT NULL CHECK (`period` IN ('daily', 'monthly', 'rolling')),
	`window_ms` integer,
	`cap_nano_usd` integer NOT NULL CHECK (`cap_nano_usd` >= 0),
	`alert_percent` integer NOT NULL CHECK (`alert_percent` BETWEEN 1 AND 100),
	`cap_version` integer NOT NULL,
	`current_start` integer NOT NULL,
	`created_at` integer NOT NULL,
	`removed_at` integer
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `budgets_live` ON `budgets` (`project_id`, `period`) WHERE `removed_at` IS NULL;
--> statement-breakpoint
CREATE TABLE `budget_periods` (
	`budget_id` integer NOT NULL REFERENCES `budgets`(`id`),
	`start` integer NOT NULL,
	`posted_nano_usd` integer NOT NULL CHECK (`posted_nano_usd` >= 0),
	`pending_nano_usd` integer NOT NULL CHECK (`pending_nano_usd` >= 0),
	`threshold_version` integer DEFAULT 0 NOT NULL,
	`exceeded_version` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY (`budget_id`, `start`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `budget_periods_held` ON `budget_periods` (`budget_id`, `pending_nano_usd`) WHERE `pending_nano_usd` > 0;
--> statement-breakpoint
CREATE TABLE `names` (
	`id` integer PRIMARY KEY NOT NULL,
	`name` text NOT NULL UNIQUE
) STRICT;
--> statement-breakpoint
INSERT INTO `names` (`id`, `name`) VALUES (0, '');
--> statement-breakpoint
CREATE TABLE `holds` (
	`id` integer PRIMARY KEY NOT NULL,
	`slot` integer NOT NULL,
	`project_id` integer NOT NULL,
	`key_id` integer NOT NULL,
	`endpoint_id` integer NOT NULL,
	`provider_id` integer NOT NULL,
	`model_id` integer NOT NULL,
	`asked_model_id` integer NOT NULL,
	`stream` integer NOT NULL,
	`amount_nano_usd` integer NOT NULL CHECK (`amount_nano_usd` >= 0),
	`charges` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `requests` (
	`id` integer PRIMARY KEY NOT NULL,
	`project_id` integer NOT NULL,
	`key_id` integer NOT NULL,
	`endpoint_id` integer NOT NULL,
	`provider_id` integer NOT NULL,
	`model_id` integer NOT NULL,
	`asked_model_id` integer NOT NULL,
	`status` integer NOT NULL,
	`outcome` integer NOT NULL,
	`flags` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`cache_write_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`reasoning_tokens` integer NOT NULL,
	`saved_tokens` integer NOT NULL,
	`cost_nano_usd` integer NOT NULL,
	`saved_nano_usd` integer NOT NULL,
	`hold_nano_usd` integer NOT NULL,
	`duration_ms` integer NOT NULL,
	`first_byte_ms` integer,
	`detail` text
) STRICT;
--> statement-breakpoint
CREATE INDEX `requests_of_project` ON `requests` (`project_id`, `id`);
--> statement-breakpoint
CREATE TABLE `usage_hours` (
	`bucket` integer NOT NULL,
	`project_id` integer NOT NULL,
	`provider_id` integer NOT NULL,
	`model_id` integer NOT NULL,
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
	PRIMARY KEY (`bucket`, `project_id`, `provider_id`, `model_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `events` (
	`sequence` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL UNIQUE,
	`type` text NOT NULL,
	`project_id` integer NOT NULL,
	`created_at` integer NOT NULL,
	`data` text NOT NULL
) STRICT;
