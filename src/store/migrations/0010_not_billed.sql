-- What a subscription covers is counted in requests and tokens, and costs no money.
DROP VIEW `usage`;
--> statement-breakpoint
DROP VIEW `journaled_usage`;
--> statement-breakpoint
CREATE VIEW `journaled_usage` AS SELECT id / 4096 + 1735689600000 AS bucket, source, project_id, provider_id, model_id, key_id, agent_id, repo_id, process_id, session_id,
1 AS requests, outcome = 1 AS blocked_requests, outcome IN (2, 3, 5, 6) AS failed_requests, (flags & 4) <> 0 AS unpriced_requests, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, iif((flags & 2048) = 0, cost_nano_usd, 0) AS cost_nano_usd, saved_nano_usd, missed_tokens, missed_nano_usd FROM `journal` WHERE `state` > 0;
--> statement-breakpoint
CREATE VIEW `usage` AS SELECT * FROM `hourly_usage` UNION ALL SELECT * FROM `journaled_usage`;
