-- Budgets that a team's gateways share. A team budget is a row of `budgets` whose cap is what this gateway may spend.
ALTER TABLE `budgets` ADD COLUMN `team_budget_id` integer;
--> statement-breakpoint
CREATE UNIQUE INDEX `budgets_of_team` ON `budgets` (`team_budget_id`) WHERE `team_budget_id` IS NOT NULL;
--> statement-breakpoint
CREATE TABLE `team_membership` (
	`id` integer PRIMARY KEY NOT NULL CHECK (`id` = 1),
	`gateway_id` integer NOT NULL,
	`name` text NOT NULL,
	`team_name` text NOT NULL,
	`token` text NOT NULL,
	`nonce` text NOT NULL,
	`next_nonce` text,
	`fingerprint` text NOT NULL,
	`incarnation` text DEFAULT '' NOT NULL,
	`timezone` text NOT NULL,
	`config_version` integer DEFAULT 0 NOT NULL,
	`courier` integer DEFAULT 0 NOT NULL,
	`joined_at` integer NOT NULL,
	`offset_ms` integer DEFAULT 0 NOT NULL,
	`synced_at` integer,
	`unreachable_since` integer,
	`failure` text,
	`frozen` integer DEFAULT 0 NOT NULL,
	`leaving` integer DEFAULT 0 NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `team_limits` (
	`budget_id` integer NOT NULL,
	`start` integer NOT NULL,
	`limit_nano_usd` integer NOT NULL,
	`clean_limit_nano_usd` integer,
	`clean_posted_nano_usd` integer,
	PRIMARY KEY(`budget_id`, `start`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `team_standings` (
	`budget_id` integer PRIMARY KEY NOT NULL,
	`cap_nano_usd` integer NOT NULL,
	`reserve_nano_usd` integer DEFAULT 0 NOT NULL,
	`start` integer DEFAULT 0 NOT NULL,
	`ends` integer DEFAULT 0 NOT NULL,
	`left_nano_usd` integer DEFAULT 0 NOT NULL,
	`unspent_nano_usd` integer DEFAULT 0 NOT NULL,
	`posted_nano_usd` integer DEFAULT 0 NOT NULL,
	`tight` integer DEFAULT 0 NOT NULL,
	`starved` integer DEFAULT 0 NOT NULL,
	`active` integer DEFAULT 0 NOT NULL,
	`heard_at` integer DEFAULT 0 NOT NULL
) STRICT;
