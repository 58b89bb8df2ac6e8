-- When the ledger held or refused a request, and when it settled it, in microseconds after the request came in: in the
-- order in which the ledger did so, which a backtest replays.
ALTER TABLE `requests` ADD COLUMN `admitted_us` integer;
--> statement-breakpoint
ALTER TABLE `requests` ADD COLUMN `settled_us` integer;
--> statement-breakpoint
ALTER TABLE `journal` ADD COLUMN `admitted_us` integer;
--> statement-breakpoint
ALTER TABLE `journal` ADD COLUMN `settled_us` integer;
