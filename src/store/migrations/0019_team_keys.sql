-- Keys of a team that its gateways accept, and which of them delivers its events.
ALTER TABLE `keys` ADD COLUMN `team_key_id` integer;
--> statement-breakpoint
ALTER TABLE `team_membership` ADD COLUMN `keys_checked_at` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `team_membership` ADD COLUMN `courier_until` integer DEFAULT 0 NOT NULL;
