ALTER TABLE `requests` RENAME TO `old_requests`;
--> statement-breakpoint
CREATE TABLE `requests` (
	`id` integer PRIMARY KEY NOT NULL,
	`project_id` integer NOT NULL,
	`key_id` integer NOT NULL,
	`endpoint_id` integer NOT NULL,
	`provider_id` integer NOT NULL,
	`model_id` integer NOT NULL,
	`asked_model_id` integer NOT NULL,
	`status` integer DEFAULT 0 NOT NULL,
	`outcome` integer DEFAULT 0 NOT NULL,
	`flags` integer DEFAULT 0 NOT NULL,
	`source` integer DEFAULT 0 NOT NULL,
	`input_tokens` integer DEFAULT 0 NOT NULL,
	`cached_input_tokens` integer DEFAULT 0 NOT NULL,
	`cache_write_tokens` integer DEFAULT 0 NOT NULL,
	`output_tokens` integer DEFAULT 0 NOT NULL,
	`reasoning_tokens` integer DEFAULT 0 NOT NULL,
	`saved_tokens` integer DEFAULT 0 NOT NULL,
	`missed_tokens` integer DEFAULT 0 NOT NULL,
	`miss_cause` integer DEFAULT 0 NOT NULL,
	`cost_nano_usd` integer DEFAULT 0 NOT NULL,
	`saved_nano_usd` integer DEFAULT 0 NOT NULL,
	`missed_nano_usd` integer DEFAULT 0 NOT NULL,
	`hold_nano_usd` integer DEFAULT 0 NOT NULL,
	`need_input_tokens` integer DEFAULT 0 NOT NULL,
	`need_input_bound` integer DEFAULT 0 NOT NULL,
	`need_output_tokens` integer DEFAULT 0 NOT NULL,
	`output_asked_tokens` integer,
	`need_input_nano_usd` integer DEFAULT 0 NOT NULL,
	`need_output_nano_usd` integer DEFAULT 0 NOT NULL,
	`need_fees_nano_usd` integer DEFAULT 0 NOT NULL,
	`limit_asked_tokens` integer,
	`output_sent_tokens` integer,
	`body_us` integer,
	`compressed_us` integer,
	`held_us` integer,
	`sent_us` integer,
	`first_byte_ms` integer,
	`duration_ms` integer DEFAULT 0 NOT NULL,
	`settled_ms` integer,
	`process_id` integer DEFAULT 0 NOT NULL,
	`repo_id` integer DEFAULT 0 NOT NULL,
	`agent_id` integer DEFAULT 0 NOT NULL,
	`agent_version_id` integer DEFAULT 0 NOT NULL,
	`session_id` integer DEFAULT 0 NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `request_details` (
	`id` integer PRIMARY KEY NOT NULL,
	`upstream_message_id` text,
	`upstream_request_id` text,
	`detail` text
) STRICT;
--> statement-breakpoint
CREATE TABLE `journal` (
	`id` integer PRIMARY KEY NOT NULL,
	`slot` integer NOT NULL,
	`state` integer NOT NULL CHECK (`state` IN (0, 1, 2)),
	`project_id` integer NOT NULL,
	`key_id` integer NOT NULL,
	`endpoint_id` integer NOT NULL,
	`provider_id` integer NOT NULL,
	`model_id` integer NOT NULL,
	`asked_model_id` integer NOT NULL,
	`status` integer DEFAULT 0 NOT NULL,
	`outcome` integer DEFAULT 0 NOT NULL,
	`flags` integer DEFAULT 0 NOT NULL,
	`source` integer DEFAULT 0 NOT NULL,
	`input_tokens` integer DEFAULT 0 NOT NULL,
	`cached_input_tokens` integer DEFAULT 0 NOT NULL,
	`cache_write_tokens` integer DEFAULT 0 NOT NULL,
	`output_tokens` integer DEFAULT 0 NOT NULL,
	`reasoning_tokens` integer DEFAULT 0 NOT NULL,
	`saved_tokens` integer DEFAULT 0 NOT NULL,
	`missed_tokens` integer DEFAULT 0 NOT NULL,
	`miss_cause` integer DEFAULT 0 NOT NULL,
	`cost_nano_usd` integer DEFAULT 0 NOT NULL,
	`saved_nano_usd` integer DEFAULT 0 NOT NULL,
	`missed_nano_usd` integer DEFAULT 0 NOT NULL,
	`hold_nano_usd` integer DEFAULT 0 NOT NULL,
	`need_input_tokens` integer DEFAULT 0 NOT NULL,
	`need_input_bound` integer DEFAULT 0 NOT NULL,
	`need_output_tokens` integer DEFAULT 0 NOT NULL,
	`output_asked_tokens` integer,
	`need_input_nano_usd` integer DEFAULT 0 NOT NULL,
	`need_output_nano_usd` integer DEFAULT 0 NOT NULL,
	`need_fees_nano_usd` integer DEFAULT 0 NOT NULL,
	`limit_asked_tokens` integer,
	`output_sent_tokens` integer,
	`body_us` integer,
	`compressed_us` integer,
	`held_us` integer,
	`sent_us` integer,
	`first_byte_ms` integer,
	`duration_ms` integer DEFAULT 0 NOT NULL,
	`settled_ms` integer,
	`process_id` integer DEFAULT 0 NOT NULL,
	`repo_id` integer DEFAULT 0 NOT NULL,
	`agent_id` integer DEFAULT 0 NOT NULL,
	`agent_version_id` integer DEFAULT 0 NOT NULL,
	`session_id` integer DEFAULT 0 NOT NULL,
	`charges` text DEFAULT '[]' NOT NULL,
	`upstream_message_id` text,
	`upstream_request_id` text,
	`detail` text
) STRICT;
--> statement-breakpoint
INSERT INTO `requests` (id, project_id, key_id, endpoint_id, provider_id, model_id, asked_model_id, status, outcome, flags, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, cost_nano_usd, saved_nano_usd, hold_nano_usd, duration_ms, first_byte_ms, process_id, repo_id)
SELECT id, project_id, key_id, endpoint_id, provider_id, model_id, asked_model_id, status, outcome, flags, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, cost_nano_usd, saved_nano_usd, hold_nano_usd, duration_ms, first_byte_ms, process_id, repo_id FROM `old_requests` ORDER BY id;
--> statement-breakpoint
INSERT INTO `request_details` (id, detail) SELECT id, detail FROM `old_requests` WHERE detail IS NOT NULL ORDER BY id;
--> statement-breakpoint
DROP TABLE `old_requests`;
--> statement-breakpoint
INSERT INTO `journal` (id, slot, project_id, key_id, endpoint_id, provider_id, model_id, asked_model_id, state, flags, hold_nano_usd, charges, process_id, repo_id)
SELECT id, slot, project_id, key_id, endpoint_id, provider_id, model_id, asked_model_id, 0, stream, amount_nano_usd, charges, process_id, repo_id FROM `holds`;
--> statement-breakpoint
DROP TABLE `holds`;
--> statement-breakpoint
CREATE INDEX `requests_of_project` ON `requests` (`project_id`, `id`);
--> statement-breakpoint
CREATE INDEX `requests_of_key` ON `requests` (`key_id`, `id`);
--> statement-breakpoint
CREATE INDEX `requests_of_model` ON `requests` (`model_id`, `id`);
--> statement-breakpoint
CREATE INDEX `requests_of_asked_model` ON `requests` (`asked_model_id`, `id`) WHERE `asked_model_id` <> `model_id`;
--> statement-breakpoint
CREATE INDEX `requests_of_repo` ON `requests` (`repo_id`, `id`) WHERE `repo_id` <> 0;
--> statement-breakpoint
CREATE INDEX `requests_of_agent` ON `requests` (`agent_id`, `id`) WHERE `agent_id` <> 0;
--> statement-breakpoint
CREATE INDEX `requests_of_session` ON `requests` (`session_id`, `id`) WHERE `session_id` <> 0;
--> statement-breakpoint
CREATE INDEX `requests_of_status` ON `requests` (`status`, `id`) WHERE `status` <> 200;
--> statement-breakpoint
CREATE INDEX `requests_of_outcome` ON `requests` (`outcome`, `id`) WHERE `outcome` <> 0;
--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` integer PRIMARY KEY NOT NULL,
	`external_id` text NOT NULL,
	`project_id` integer NOT NULL,
	`agent_id` integer NOT NULL,
	`agent_version_id` integer NOT NULL,
	`repo_id` integer NOT NULL,
	`first_at` integer NOT NULL,
	`last_at` integer NOT NULL,
	`requests` integer DEFAULT 0 NOT NULL,
	`blocked_requests` integer DEFAULT 0 NOT NULL,
	`input_tokens` integer DEFAULT 0 NOT NULL,
	`cached_input_tokens` integer DEFAULT 0 NOT NULL,
	`cache_write_tokens` integer DEFAULT 0 NOT NULL,
	`output_tokens` integer DEFAULT 0 NOT NULL,
	`cost_nano_usd` integer DEFAULT 0 NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `sessions_by_name` ON `sessions` (`external_id`, `project_id`, `agent_id`);
--> statement-breakpoint
CREATE INDEX `sessions_by_time` ON `sessions` (`last_at`);
--> statement-breakpoint
CREATE TABLE `usage_dims` (
	`id` integer PRIMARY KEY NOT NULL,
	`source` integer NOT NULL,
	`project_id` integer NOT NULL,
	`provider_id` integer NOT NULL,
	`model_id` integer NOT NULL,
	`key_id` integer NOT NULL,
	`agent_id` integer NOT NULL,
	`repo_id` integer NOT NULL,
	`process_id` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `usage_dims_unique` ON `usage_dims` (`source`, `project_id`, `provider_id`, `model_id`, `key_id`, `agent_id`, `repo_id`, `process_id`);
--> statement-breakpoint
ALTER TABLE `usage_hours` RENAME TO `old_hours`;
--> statement-breakpoint
CREATE TABLE `usage_hours` (
	`bucket` integer NOT NULL,
	`dims_id` integer NOT NULL,
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
	PRIMARY KEY (`bucket`, `dims_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
-- Usage by all dimensions, from the records that are still kept. Quarters of a UTC day, and the buckets that they are in.
CREATE TEMP TABLE `quarters` AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 95),
	cuts (minute) AS (VALUES (150), (210), (570), (615), (675), (810), (870), (915), (1050), (1095), (1110), (1170), (1230))
SELECT i AS quarter, max(i * 15 - i * 15 % 60, coalesce((SELECT max(minute) FROM cuts WHERE minute <= i * 15), 0)) * 60000 AS start FROM n;
--> statement-breakpoint
CREATE TEMP TABLE `counted` AS SELECT g.quarter / 96 * 86400000 + 1735689600000 + q.start AS bucket, g.*
FROM (SELECT id / 3686400000 AS quarter, project_id, provider_id, model_id, key_id, repo_id, process_id,
	count(*) AS requests, sum(outcome = 1) AS blocked_requests, sum(outcome IN (2, 3, 5, 6)) AS failed_requests, sum((flags & 4) <> 0) AS unpriced_requests, sum(input_tokens) AS input_tokens, sum(cached_input_tokens) AS cached_input_tokens, sum(cache_write_tokens) AS cache_write_tokens, sum(output_tokens) AS output_tokens, sum(reasoning_tokens) AS reasoning_tokens, sum(saved_tokens) AS saved_tokens, sum(cost_nano_usd) AS cost_nano_usd, sum(saved_nano_usd) AS saved_nano_usd
	FROM `requests` GROUP BY 1, 2, 3, 4, 5, 6, 7) g
JOIN `quarters` q ON q.quarter = g.quarter % 96;
--> statement-breakpoint
-- The buckets whose records do not add up to the stored figures: their oldest records are deleted.
CREATE TEMP TABLE `incomplete` AS
WITH models AS (SELECT bucket, project_id, provider_id, model_id, sum(requests), sum(blocked_requests), sum(failed_requests), sum(unpriced_requests), sum(input_tokens), sum(cached_input_tokens), sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens), sum(saved_tokens), sum(cost_nano_usd), sum(saved_nano_usd) FROM `counted` GROUP BY 1, 2, 3, 4),
	origins AS (SELECT bucket, project_id, process_id, repo_id, sum(requests), sum(blocked_requests), sum(failed_requests), sum(unpriced_requests), sum(input_tokens), sum(cached_input_tokens), sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens), sum(saved_tokens), sum(cost_nano_usd), sum(saved_nano_usd) FROM `counted` WHERE process_id + repo_id > 0 GROUP BY 1, 2, 3, 4)
SELECT bucket FROM (SELECT * FROM `old_hours` EXCEPT SELECT * FROM models)
UNION SELECT bucket FROM (SELECT * FROM models EXCEPT SELECT * FROM `old_hours`)
UNION SELECT bucket FROM (SELECT * FROM `usage_origins` EXCEPT SELECT * FROM origins)
UNION SELECT bucket FROM (SELECT * FROM origins EXCEPT SELECT * FROM `usage_origins`);
--> statement-breakpoint
-- Of those buckets only the usage by model and the usage by caller are known. The usage by caller is added without a
-- model and taken off the unknown caller, so that the sums over either stay what they were.
CREATE TEMP TABLE `gathered` AS
SELECT bucket, 0 AS source, project_id, provider_id, model_id, key_id, 0 AS agent_id, repo_id, process_id, requests, blocked_requests, failed_requests, unpriced_requests, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, cost_nano_usd, saved_nano_usd FROM `counted`
WHERE bucket NOT IN (SELECT bucket FROM `incomplete`)
UNION ALL SELECT bucket, 0, project_id, provider_id, model_id, 0, 0, 0, 0, requests, blocked_requests, failed_requests, unpriced_requests, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, cost_nano_usd, saved_nano_usd FROM `old_hours` WHERE bucket IN (SELECT bucket FROM `incomplete`)
UNION ALL SELECT bucket, 0, project_id, 0, 0, 0, 0, repo_id, process_id, requests, blocked_requests, failed_requests, unpriced_requests, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, cost_nano_usd, saved_nano_usd FROM `usage_origins` WHERE bucket IN (SELECT bucket FROM `incomplete`)
UNION ALL SELECT bucket, 0, project_id, 0, 0, 0, 0, 0, 0, -requests, -blocked_requests, -failed_requests, -unpriced_requests, -input_tokens, -cached_input_tokens, -cache_write_tokens, -output_tokens, -reasoning_tokens, -saved_tokens, -cost_nano_usd, -saved_nano_usd FROM `usage_origins` WHERE bucket IN (SELECT bucket FROM `incomplete`);
--> statement-breakpoint
INSERT INTO `usage_dims` (source, project_id, provider_id, model_id, key_id, agent_id, repo_id, process_id) SELECT DISTINCT source, project_id, provider_id, model_id, key_id, agent_id, repo_id, process_id FROM `gathered`;
--> statement-breakpoint
INSERT INTO `usage_hours` SELECT g.bucket, d.id, sum(g.requests), sum(g.blocked_requests), sum(g.failed_requests), sum(g.unpriced_requests), sum(g.input_tokens), sum(g.cached_input_tokens), sum(g.cache_write_tokens), sum(g.output_tokens), sum(g.reasoning_tokens), sum(g.saved_tokens), sum(g.cost_nano_usd), sum(g.saved_nano_usd), 0, 0
FROM `gathered` g JOIN `usage_dims` d USING (source, project_id, provider_id, model_id, key_id, agent_id, repo_id, process_id) GROUP BY 1, 2 ORDER BY 1, 2;
--> statement-breakpoint
DROP TABLE `gathered`;
--> statement-breakpoint
DROP TABLE `incomplete`;
--> statement-breakpoint
DROP TABLE `counted`;
--> statement-breakpoint
DROP TABLE `quarters`;
--> statement-breakpoint
DROP TABLE `old_hours`;
--> statement-breakpoint
DROP TABLE `usage_origins`;
--> statement-breakpoint
ALTER TABLE `usage_sums` ADD COLUMN `missed_tokens` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `usage_sums` ADD COLUMN `missed_nano_usd` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
CREATE VIEW `open_holds` AS SELECT * FROM `journal` WHERE `state` = 0;
--> statement-breakpoint
CREATE VIEW `request_log` AS SELECT r.id, r.project_id, r.key_id, r.endpoint_id, r.provider_id, r.model_id, r.asked_model_id, r.status, r.outcome, r.flags, r.source, r.input_tokens, r.cached_input_tokens, r.cache_write_tokens, r.output_tokens, r.reasoning_tokens, r.saved_tokens, r.missed_tokens, r.miss_cause, r.cost_nano_usd, r.saved_nano_usd, r.missed_nano_usd, r.hold_nano_usd, r.need_input_tokens, r.need_input_bound, r.need_output_tokens, r.output_asked_tokens, r.need_input_nano_usd, r.need_output_nano_usd, r.need_fees_nano_usd, r.limit_asked_tokens, r.output_sent_tokens, r.body_us, r.compressed_us, r.held_us, r.sent_us, r.first_byte_ms, r.duration_ms, r.settled_ms, r.process_id, r.repo_id, r.agent_id, r.agent_version_id, r.session_id, d.upstream_message_id, d.upstream_request_id, d.detail
FROM `requests` r LEFT JOIN `request_details` d ON d.id = r.id
UNION ALL SELECT id, project_id, key_id, endpoint_id, provider_id, model_id, asked_model_id, status, outcome, flags, source, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, missed_tokens, miss_cause, cost_nano_usd, saved_nano_usd, missed_nano_usd, hold_nano_usd, need_input_tokens, need_input_bound, need_output_tokens, output_asked_tokens, need_input_nano_usd, need_output_nano_usd, need_fees_nano_usd, limit_asked_tokens, output_sent_tokens, body_us, compressed_us, held_us, sent_us, first_byte_ms, duration_ms, settled_ms, process_id, repo_id, agent_id, agent_version_id, session_id, upstream_message_id, upstream_request_id, detail FROM `journal` WHERE `state` > 0;
--> statement-breakpoint
CREATE VIEW `journaled_usage` AS SELECT id / 4096 + 1735689600000 AS bucket, source, project_id, provider_id, model_id, key_id, agent_id, repo_id, process_id,
1 AS requests, outcome = 1 AS blocked_requests, outcome IN (2, 3, 5, 6) AS failed_requests, (flags & 4) <> 0 AS unpriced_requests, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, cost_nano_usd, saved_nano_usd, missed_tokens, missed_nano_usd FROM `journal` WHERE `state` > 0;
--> statement-breakpoint
-- A cross join keeps the order: beginning with the dimensions, each would search all of the hours.
CREATE VIEW `hourly_usage` AS SELECT h.bucket, d.source, d.project_id, d.provider_id, d.model_id, d.key_id, d.agent_id, d.repo_id, d.process_id,
h.requests, h.blocked_requests, h.failed_requests, h.unpriced_requests, h.input_tokens, h.cached_input_tokens, h.cache_write_tokens, h.output_tokens, h.reasoning_tokens, h.saved_tokens, h.cost_nano_usd, h.saved_nano_usd, h.missed_tokens, h.missed_nano_usd FROM `usage_hours` h CROSS JOIN `usage_dims` d ON d.id = h.dims_id;
--> statement-breakpoint
CREATE VIEW `usage` AS SELECT * FROM `hourly_usage` UNION ALL SELECT * FROM `journaled_usage`;
--> statement-breakpoint
-- Only windows add up the holds of many rows. With those of periods in it, each hold and settlement changed the index.
ALTER TABLE `budget_periods` ADD COLUMN `rolling` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
UPDATE `budget_periods` SET `rolling` = 1 WHERE `budget_id` IN (SELECT id FROM `budgets` WHERE `period` = 'rolling');
--> statement-breakpoint
DROP INDEX `budget_periods_held`;
--> statement-breakpoint
CREATE INDEX `budget_periods_held` ON `budget_periods` (`budget_id`, `pending_nano_usd`) WHERE `rolling` = 1 AND `pending_nano_usd` > 0;
