-- Sessions of which calls were imported from the agents' logs, with the figures of these calls.
CREATE TABLE `imported_sessions` (
	`session_id` integer PRIMARY KEY NOT NULL,
	`first_at` integer NOT NULL,
	`last_at` integer NOT NULL,
	`requests` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`cache_write_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cost_nano_usd` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `imported_sessions_by_time` ON `imported_sessions` (`last_at`);
--> statement-breakpoint
INSERT INTO `imported_sessions` SELECT `session_id`, min(`bucket`), max(`bucket`), sum(`requests`), sum(`input_tokens`), sum(`cached_input_tokens`), sum(`cache_write_tokens`), sum(`output_tokens`), sum(`cost_nano_usd`) FROM `hourly_usage` WHERE `source` = 1 AND `session_id` <> 0 GROUP BY `session_id`;
