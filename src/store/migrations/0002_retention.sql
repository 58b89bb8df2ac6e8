CREATE TABLE `usage_sums` (
	`kind` integer NOT NULL,
	`project_id` integer NOT NULL,
	`start` integer NOT NULL,
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
	PRIMARY KEY (`kind`, `project_id`, `start`, `provider_id`, `model_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `meta` (`key`, `value`) VALUES ('usage_summed_until', 0);
--> statement-breakpoint
ALTER TABLE `budgets` ADD `window_from` integer;
--> statement-breakpoint
ALTER TABLE `budgets` ADD `window_posted_nano_usd` integer;
--> statement-breakpoint
CREATE INDEX `budget_periods_marked` ON `budget_periods` (`budget_id`, `start`) WHERE `threshold_version` > 0 OR `exceeded_version` > 0;
--> statement-breakpoint
CREATE INDEX `deliveries_finished` ON `deliveries` (`finished_at`) WHERE `finished_at` IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `deliveries_first_event` ON `deliveries` (coalesce(`first_sequence`, `sequence`));
