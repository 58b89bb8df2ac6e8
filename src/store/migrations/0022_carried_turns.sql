-- What only the providers of tool calls can read, for clients that bring back no more than the calls' ids.
CREATE TABLE `carried_turns` (
	`project_id` integer NOT NULL,
	`call_id` text NOT NULL,
	`at` integer NOT NULL,
	`turn` text NOT NULL,
	PRIMARY KEY(`project_id`, `call_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `carried_turns_at` ON `carried_turns` (`at`);
