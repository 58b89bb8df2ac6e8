-- Sessions that run away, and caps that several projects share.
ALTER TABLE `sessions` ADD COLUMN `runaway` text DEFAULT '' NOT NULL;
--> statement-breakpoint
ALTER TABLE `sessions` ADD COLUMN `runaway_at` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `sessions` ADD COLUMN `peak_repeats` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `sessions` ADD COLUMN `peak_failures` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
CREATE INDEX `sessions_runaway` ON `sessions` (`runaway_at`) WHERE `runaway_at` > 0;
--> statement-breakpoint
ALTER TABLE `budgets` ADD COLUMN `runaway` text DEFAULT 'alert' NOT NULL;
--> statement-breakpoint
ALTER TABLE `asks` ADD COLUMN `session` text DEFAULT '' NOT NULL;
--> statement-breakpoint
ALTER TABLE `asks` ADD COLUMN `runaway` text DEFAULT '' NOT NULL;
--> statement-breakpoint
ALTER TABLE `budgets` ADD COLUMN `projects` text DEFAULT '' NOT NULL;
--> statement-breakpoint
DROP INDEX `budgets_live`;
--> statement-breakpoint
CREATE UNIQUE INDEX `budgets_live` ON `budgets` (`project_id`, `period`, `repo`, `scope_kind`, `scope_value`, `projects`) WHERE `removed_at` IS NULL;
--> statement-breakpoint
CREATE INDEX `budgets_shared` ON `budgets` (`projects`) WHERE `projects` <> '' AND `removed_at` IS NULL AND `parent_id` = 0;
