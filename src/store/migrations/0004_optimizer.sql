CREATE TABLE `optimizer_trials` (
	`project_id` integer NOT NULL,
	`held_out` integer NOT NULL CHECK (`held_out` IN (0, 1)),
	`provider_id` integer NOT NULL,
	`model_id` integer NOT NULL,
	`conversation` integer NOT NULL,
	`requests` integer NOT NULL,
	`original_tokens` integer NOT NULL,
	`cost_nano_usd` integer NOT NULL,
	`last_at` integer NOT NULL,
	PRIMARY KEY (`project_id`, `held_out`, `provider_id`, `model_id`, `conversation`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `optimizer_verdicts` (
	`project_id` integer PRIMARY KEY NOT NULL REFERENCES `projects`(`id`),
	`at` integer NOT NULL,
	`saved_nano_usd` integer NOT NULL,
	`margin_nano_usd` integer NOT NULL,
	`treated_conversations` integer NOT NULL,
	`held_out_conversations` integer NOT NULL
) STRICT;
