-- Usage by session.
ALTER TABLE `usage_dims` ADD COLUMN `session_id` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
DROP INDEX `usage_dims_unique`;
--> statement-breakpoint
CREATE UNIQUE INDEX `usage_dims_unique` ON `usage_dims` (`source`, `project_id`, `provider_id`, `model_id`, `key_id`, `agent_id`, `repo_id`, `process_id`, `session_id`);
--> statement-breakpoint
DROP VIEW `usage`;
--> statement-breakpoint
DROP VIEW `hourly_usage`;
--> statement-breakpoint
DROP VIEW `journaled_usage`;
--> statement-breakpoint
CREATE VIEW `journaled_usage` AS SELECT id / 4096 + 1735689600000 AS bucket, source, project_id, provider_id, model_id, key_id, agent_id, repo_id, process_id, session_id,
1 AS requests, outcome = 1 AS blocked_requests, outcome IN (2, 3, 5, 6) AS failed_requests, (flags & 4) <> 0 AS unpriced_requests, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, cost_nano_usd, saved_nano_usd, missed_tokens, missed_nano_usd FROM `journal` WHERE `state` > 0;
--> statement-breakpoint
-- A cross join keeps the order: beginning with the dimensions, each would search all of the hours.
CREATE VIEW `hourly_usage` AS SELECT h.bucket, d.source, d.project_id, d.provider_id, d.model_id, d.key_id, d.agent_id, d.repo_id, d.process_id, d.session_id,
h.requests, h.blocked_requests, h.failed_requests, h.unpriced_requests, h.input_tokens, h.cached_input_tokens, h.cache_write_tokens, h.output_tokens, h.reasoning_tokens, h.saved_tokens, h.cost_nano_usd, h.saved_nano_usd, h.missed_tokens, h.missed_nano_usd FROM `usage_hours` h CROSS JOIN `usage_dims` d ON d.id = h.dims_id;
--> statement-breakpoint
CREATE VIEW `usage` AS SELECT * FROM `hourly_usage` UNION ALL SELECT * FROM `journaled_usage`;
--> statement-breakpoint
-- A cap for each session, agent or key has a budget for each of them, its members.
ALTER TABLE `budgets` ADD COLUMN `parent_id` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
CREATE INDEX `budgets_of_project` ON `budgets` (`project_id`, `period`, `repo`, `scope_kind`, `scope_value`) WHERE `removed_at` IS NULL AND `parent_id` = 0;
--> statement-breakpoint
CREATE INDEX `budgets_members` ON `budgets` (`parent_id`, `scope_value`) WHERE `removed_at` IS NULL AND `parent_id` <> 0;
