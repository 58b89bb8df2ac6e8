-- The size of the body that gw sent, in bytes.
ALTER TABLE `requests` ADD COLUMN `request_bytes` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `journal` ADD COLUMN `request_bytes` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
DROP VIEW `request_log`;
--> statement-breakpoint
CREATE VIEW `request_log` AS SELECT r.id, r.project_id, r.key_id, r.endpoint_id, r.provider_id, r.model_id, r.asked_model_id, r.status, r.outcome, r.flags, r.source, r.input_tokens, r.cached_input_tokens, r.cache_write_tokens, r.output_tokens, r.reasoning_tokens, r.saved_tokens, r.missed_tokens, r.miss_cause, r.cost_nano_usd, r.saved_nano_usd, r.missed_nano_usd, r.hold_nano_usd, r.need_input_tokens, r.need_input_bound, r.need_output_tokens, r.output_asked_tokens, r.need_input_nano_usd, r.need_output_nano_usd, r.need_fees_nano_usd, r.limit_asked_tokens, r.output_sent_tokens, r.body_us, r.compressed_us, r.held_us, r.sent_us, r.first_byte_ms, r.duration_ms, r.settled_ms, r.process_id, r.repo_id, r.agent_id, r.agent_version_id, r.session_id, r.at, r.request_bytes, r.folded, r.folded_ms, d.upstream_message_id, d.upstream_request_id, d.detail
FROM `requests` r LEFT JOIN `request_details` d ON d.id = r.id
UNION ALL SELECT id, project_id, key_id, endpoint_id, provider_id, model_id, asked_model_id, status, outcome, flags, source, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, missed_tokens, miss_cause, cost_nano_usd, saved_nano_usd, missed_nano_usd, hold_nano_usd, need_input_tokens, need_input_bound, need_output_tokens, output_asked_tokens, need_input_nano_usd, need_output_nano_usd, need_fees_nano_usd, limit_asked_tokens, output_sent_tokens, body_us, compressed_us, held_us, sent_us, first_byte_ms, duration_ms, settled_ms, process_id, repo_id, agent_id, agent_version_id, session_id, at, request_bytes, folded, folded_ms, upstream_message_id, upstream_request_id, detail FROM `journal` WHERE `state` > 0;
