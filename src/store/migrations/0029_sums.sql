-- Sums by agent too, and by bucket and model. They are made anew from `usage_hours`, an hour at a time.
DROP TABLE `usage_sums`;
--> statement-breakpoint
CREATE TABLE `usage_sums` (
	`kind` integer NOT NULL,
	`project_id` integer NOT NULL,
	`start` integer NOT NULL,
	`provider_id` integer NOT NULL,
	`model_id` integer NOT NULL,
	`agent_id` integer NOT NULL,
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
	`missed_tokens` integer NOT NULL,
	`missed_nano_usd` integer NOT NULL,
	`replayed_requests` integer NOT NULL,
	PRIMARY KEY (`kind`, `project_id`, `start`, `provider_id`, `model_id`, `agent_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
UPDATE `meta` SET `value` = 0 WHERE `key` = 'usage_summed_until';
