-- Requests that wait for their owner's answer where a budget asks instead of refusing them.
ALTER TABLE `budgets` ADD COLUMN `on_limit` text DEFAULT 'block' NOT NULL;
--> statement-breakpoint
CREATE TABLE `asks` (
	`request_id` integer PRIMARY KEY NOT NULL,
	`project_id` integer NOT NULL,
	`budget_id` integer NOT NULL,
	`key_id` integer NOT NULL,
	`slot` integer NOT NULL,
	`model` text NOT NULL,
	`agent` text NOT NULL,
	`least_nano_usd` integer NOT NULL,
	`needed_nano_usd` integer NOT NULL,
	`state` text NOT NULL,
	`allowed_nano_usd` integer,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL
) STRICT;
