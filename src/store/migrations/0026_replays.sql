-- Replays: requests that were answered from disk. Jobs: what providers run after their requests have ended.
ALTER TABLE `usage_hours` ADD COLUMN `replayed_requests` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `usage_sums` ADD COLUMN `replayed_requests` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
DROP VIEW `usage`;
--> statement-breakpoint
DROP VIEW `hourly_usage`;
--> statement-breakpoint
DROP VIEW `journaled_usage`;
--> statement-breakpoint
CREATE VIEW `journaled_usage` AS SELECT at AS bucket, source, project_id, provider_id, model_id, key_id, agent_id, repo_id, process_id, session_id, labels_id,
1 + folded AS requests, iif(outcome = 1, 1 + folded, 0) AS blocked_requests, iif(outcome IN (2, 3, 5, 6), 1 + folded, 0) AS failed_requests, (flags & 4) <> 0 AS unpriced_requests, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, iif((flags & 2048) = 0, cost_nano_usd, 0) AS cost_nano_usd, saved_nano_usd, missed_tokens, missed_nano_usd, (flags & 16384) <> 0 AS replayed_requests FROM `journal` WHERE `state` > 0;
--> statement-breakpoint
CREATE VIEW `hourly_usage` AS SELECT h.bucket, d.source, d.project_id, d.provider_id, d.model_id, d.key_id, d.agent_id, d.repo_id, d.process_id, d.session_id, d.labels_id,
h.requests, h.blocked_requests, h.failed_requests, h.unpriced_requests, h.input_tokens, h.cached_input_tokens, h.cache_write_tokens, h.output_tokens, h.reasoning_tokens, h.saved_tokens, h.cost_nano_usd, h.saved_nano_usd, h.missed_tokens, h.missed_nano_usd, h.replayed_requests FROM `usage_hours` h CROSS JOIN `usage_dims` d ON d.id = h.dims_id;
--> statement-breakpoint
CREATE VIEW `usage` AS SELECT * FROM `hourly_usage` UNION ALL SELECT * FROM `journaled_usage`;
--> statement-breakpoint
CREATE TABLE `jobs` (
	`request_id` integer PRIMARY KEY NOT NULL,
	`provider_id` integer NOT NULL,
	`job_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `jobs_of_provider` ON `jobs` (`provider_id`, `job_id`);
--> statement-breakpoint
CREATE INDEX `jobs_expiry` ON `jobs` (`expires_at`);
