ALTER TABLE `projects` ADD COLUMN `cut_at` integer;
--> statement-breakpoint
ALTER TABLE `keys` ADD COLUMN `expires_at` integer;
--> statement-breakpoint
ALTER TABLE `keys` ADD COLUMN `models` text;
--> statement-breakpoint
ALTER TABLE `keys` ADD COLUMN `rpm` integer;
--> statement-breakpoint
ALTER TABLE `keys` ADD COLUMN `old_hash` blob;
--> statement-breakpoint
ALTER TABLE `keys` ADD COLUMN `old_until` integer;
--> statement-breakpoint
CREATE UNIQUE INDEX `keys_old_hash` ON `keys` (`old_hash`) WHERE `old_hash` IS NOT NULL;
--> statement-breakpoint
ALTER TABLE `budgets` ADD COLUMN `alert_percents` text DEFAULT '' NOT NULL;
--> statement-breakpoint
ALTER TABLE `budget_periods` ADD COLUMN `threshold_percent` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
CREATE TABLE `budget_raises` (
	`id` integer PRIMARY KEY NOT NULL,
	`budget_id` integer NOT NULL REFERENCES `budgets`(`id`),
	`amount_nano_usd` integer NOT NULL CHECK (`amount_nano_usd` > 0),
	`until` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `budget_raises_of_budget` ON `budget_raises` (`budget_id`);
