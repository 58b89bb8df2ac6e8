-- Buckets of usage that the team's database has to hear of; a change of one while it is sent raises its version.
CREATE TABLE `team_usage_dirty` (
	`bucket` integer PRIMARY KEY NOT NULL,
	`version` integer DEFAULT 1 NOT NULL
) STRICT;
--> statement-breakpoint
ALTER TABLE `team_membership` ADD COLUMN `usage_seq` integer DEFAULT 0 NOT NULL;
