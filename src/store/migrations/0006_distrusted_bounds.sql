CREATE TABLE `distrusted_bounds` (
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`bound` text NOT NULL,
	`at` integer NOT NULL,
	`request_id` integer NOT NULL,
	PRIMARY KEY(`provider`, `model`, `bound`)
) STRICT, WITHOUT ROWID;
