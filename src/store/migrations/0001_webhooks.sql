CREATE TABLE `webhook_endpoints` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`project_id` integer NOT NULL REFERENCES `projects`(`id`),
	`url` text NOT NULL,
	`format` text NOT NULL,
	`events` integer NOT NULL CHECK (`events` > 0),
	`secret` text NOT NULL,
	`old_secret` text,
	`old_secret_until` integer,
	`consecutive_failures` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`disabled_at` integer,
	`disabled_reason` text
) STRICT;
--> statement-breakpoint
CREATE INDEX `webhook_endpoints_of_project` ON `webhook_endpoints` (`project_id`);
--> statement-breakpoint
CREATE TABLE `deliveries` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`endpoint_id` integer NOT NULL REFERENCES `webhook_endpoints`(`id`),
	`sequence` integer NOT NULL,
	`first_sequence` integer,
	`event_count` integer DEFAULT 1 NOT NULL,
	`state` text DEFAULT 'pending' NOT NULL CHECK (`state` IN ('pending', 'sending', 'delivered', 'failed')),
	`due_at` integer NOT NULL,
	`claims` integer DEFAULT 0 NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`attempted_at` integer,
	`duration_ms` integer,
	`status` integer,
	`error` text,
	`response` text,
	`created_at` integer NOT NULL,
	`finished_at` integer,
	`replayed_at` integer,
	CHECK ((`finished_at` IS NULL) = (`state` IN ('pending', 'sending')))
) STRICT;
--> statement-breakpoint
CREATE INDEX `deliveries_of_endpoint` ON `deliveries` (`endpoint_id`, `id`);
--> statement-breakpoint
CREATE INDEX `deliveries_open` ON `deliveries` (`endpoint_id`, `id`) WHERE `finished_at` IS NULL;
--> statement-breakpoint
CREATE TABLE `blocked_summaries` (
	`endpoint_id` integer PRIMARY KEY NOT NULL REFERENCES `webhook_endpoints`(`id`),
	`event_count` integer NOT NULL,
	`first_sequence` integer NOT NULL,
	`sequence` integer NOT NULL,
	`due_at` integer NOT NULL
) STRICT;
