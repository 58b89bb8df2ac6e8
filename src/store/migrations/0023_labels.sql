-- Labels: what clients say that requests are for.
CREATE TABLE `label_sets` (
	`id` integer PRIMARY KEY NOT NULL,
	`project_id` integer NOT NULL,
	`labels` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `label_sets_unique` ON `label_sets` (`project_id`, `labels`);
--> statement-breakpoint
CREATE TABLE `label_values` (
	`project_id` integer NOT NULL,
	`name` text NOT NULL,
	`value` text NOT NULL,
	PRIMARY KEY(`project_id`, `name`, `value`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `keys` ADD COLUMN `labels` text;
--> statement-breakpoint
ALTER TABLE `requests` ADD COLUMN `labels_id` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `journal` ADD COLUMN `labels_id` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `usage_dims` ADD COLUMN `labels_id` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
CREATE INDEX `requests_of_labels` ON `requests` (`labels_id`, `id`) WHERE `labels_id` <> 0;
--> statement-breakpoint
DROP INDEX `usage_dims_unique`;
--> statement-breakpoint
CREATE UNIQUE INDEX `usage_dims_unique` ON `usage_dims` (`source`, `project_id`, `provider_id`, `model_id`, `key_id`, `agent_id`, `repo_id`, `process_id`, `session_id`, `labels_id`);
--> statement-breakpoint
DROP VIEW `usage`;
--> statement-breakpoint
DROP VIEW `hourly_usage`;
--> statement-breakpoint
DROP VIEW `journaled_usage`;
--> statement-breakpoint
DROP VIEW `request_log`;
--> statement-breakpoint
CREATE VIEW `request_log` AS SELECT r.id, r.project_id, r.key_id, r.endpoint_id, r.provider_id, r.model_id, r.asked_model_id, r.status, r.outcome, r.flags, r.source, r.input_tokens, r.cached_input_tokens, r.cache_write_tokens, r.output_tokens, r.reasoning_tokens, r.saved_tokens, r.missed_tokens, r.miss_cause, r.cost_nano_usd, r.saved_nano_usd, r.missed_nano_usd, r.hold_nano_usd, r.need_input_tokens, r.need_input_bound, r.need_output_tokens, r.output_asked_tokens, r.need_input_nano_usd, r.need_output_nano_usd, r.need_fees_nano_usd, r.limit_asked_tokens, r.output_sent_tokens, r.body_us, r.compressed_us, r.held_us, r.sent_us, r.first_byte_ms, r.duration_ms, r.settled_ms, r.process_id, r.repo_id, r.agent_id, r.agent_version_id, r.session_id, r.labels_id, r.at, r.request_bytes, r.folded, r.folded_ms, d.upstream_message_id, d.upstream_request_id, d.detail
FROM `requests` r LEFT JOIN `request_details` d ON d.id = r.id
UNION ALL SELECT id, project_id, key_id, endpoint_id, provider_id, model_id, asked_model_id, status, outcome, flags, source, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, missed_tokens, miss_cause, cost_nano_usd, saved_nano_usd, missed_nano_usd, hold_nano_usd, need_input_tokens, need_input_bound, need_output_tokens, output_asked_tokens, need_input_nano_usd, need_output_nano_usd, need_fees_nano_usd, limit_asked_tokens, output_sent_tokens, body_us, compressed_us, held_us, sent_us, first_byte_ms, duration_ms, settled_ms, process_id, repo_id, agent_id, agent_version_id, session_id, labels_id, at, request_bytes, folded, folded_ms, upstream_message_id, upstream_request_id, detail FROM `journal` WHERE `state` > 0;
--> statement-breakpoint
CREATE VIEW `journaled_usage` AS SELECT at AS bucket, source, project_id, provider_id, model_id, key_id, agent_id, repo_id, process_id, session_id, labels_id,
1 + folded AS requests, iif(outcome = 1, 1 + folded, 0) AS blocked_requests, iif(outcome IN (2, 3, 5, 6), 1 + folded, 0) AS failed_requests, (flags & 4) <> 0 AS unpriced_requests, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, iif((flags & 2048) = 0, cost_nano_usd, 0) AS cost_nano_usd, saved_nano_usd, missed_tokens, missed_nano_usd FROM `journal` WHERE `state` > 0;
--> statement-breakpoint
CREATE VIEW `hourly_usage` AS SELECT h.bucket, d.source, d.project_id, d.provider_id, d.model_id, d.key_id, d.agent_id, d.repo_id, d.process_id, d.session_id, d.labels_id,
h.requests, h.blocked_requests, h.failed_requests, h.unpriced_requests, h.input_tokens, h.cached_input_tokens, h.cache_write_tokens, h.output_tokens, h.reasoning_tokens, h.saved_tokens, h.cost_nano_usd, h.saved_nano_usd, h.missed_tokens, h.missed_nano_usd FROM `usage_hours` h CROSS JOIN `usage_dims` d ON d.id = h.dims_id;
--> statement-breakpoint
CREATE VIEW `usage` AS SELECT * FROM `hourly_usage` UNION ALL SELECT * FROM `journaled_usage`;
