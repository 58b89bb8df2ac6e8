CREATE TABLE `route_health` (
	`id` integer PRIMARY KEY NOT NULL,
	`saved_at` integer NOT NULL,
	`snapshot` text NOT NULL
) STRICT;
