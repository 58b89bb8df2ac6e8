-- Windows of subscriptions: what the answers to a login's own requests say of it.
CREATE TABLE `limits` (
	`id` integer PRIMARY KEY NOT NULL,
	`login` text NOT NULL,
	`service` text NOT NULL,
	`window` text NOT NULL,
	`model` text NOT NULL,
	`used_ppm` integer NOT NULL,
	`resets_at` integer NOT NULL,
	`status` text NOT NULL,
	`updated_at` integer NOT NULL,
	`alerted_percent` integer DEFAULT 0 NOT NULL,
	`alerted_forecast` integer DEFAULT 0 NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `limits_unique` ON `limits` (`login`, `window`, `model`);
--> statement-breakpoint
CREATE TABLE `limit_history` (
	`limit_id` integer NOT NULL,
	`minute` integer NOT NULL,
	`at` integer NOT NULL,
	`used_ppm` integer NOT NULL,
	`resets_at` integer NOT NULL,
	PRIMARY KEY(`limit_id`, `minute`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `limit_oddities` (
	`service` text NOT NULL,
	`header` text NOT NULL,
	`problem` text NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`service`, `header`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `limit_guards` (
	`kind` text NOT NULL,
	`value` text NOT NULL,
	`keep_ppm` integer NOT NULL,
	`slow` integer NOT NULL,
	PRIMARY KEY(`kind`, `value`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `limit_shares` (
	`key_id` integer PRIMARY KEY NOT NULL,
	`share_ppm` integer NOT NULL
) STRICT;
