-- Caps that send requests to cheaper models.
ALTER TABLE `budgets` ADD COLUMN `fallback` text DEFAULT '' NOT NULL;
--> statement-breakpoint
ALTER TABLE `budgets` ADD COLUMN `fallback_percent` integer DEFAULT 100 NOT NULL;
--> statement-breakpoint
ALTER TABLE `budgets` ADD COLUMN `fallback_version` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `budgets` ADD COLUMN `fallback_start` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
CREATE INDEX `requests_fallback` ON `requests` (`id`) WHERE `flags` & 32768;
