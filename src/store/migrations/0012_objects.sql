-- Who made what providers store. With a single project nothing is written.
CREATE TABLE `objects` (
	`id` text COLLATE NOCASE NOT NULL,
	`provider` text NOT NULL,
	`project_id` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY (`id`, `provider`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
-- The project that a provider's objects belong to that nobody wrote down: the only one that had used the provider.
CREATE TABLE `object_claims` (
	`provider` text PRIMARY KEY NOT NULL,
	`project_id` integer NOT NULL
) STRICT;
--> statement-breakpoint
INSERT INTO `object_claims` (`provider`, `project_id`)
	SELECT n.`name`, min(u.`project_id`) FROM `usage` u JOIN `names` n ON n.`id` = u.`provider_id`
	WHERE u.`source` = 0 AND n.`name` <> '' AND (SELECT count(*) FROM `projects`) > 1
	GROUP BY n.`name` HAVING count(DISTINCT u.`project_id`) = 1;
