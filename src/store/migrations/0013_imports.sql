-- Calls that were read from agents' session logs, so that none is imported twice. Their figures are in `usage_hours`.
CREATE TABLE `imported_calls` (
	`agent_id` integer NOT NULL,
	`call` text NOT NULL,
	PRIMARY KEY(`agent_id`, `call`)
) STRICT, WITHOUT ROWID;
