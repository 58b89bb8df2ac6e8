import { refusals } from '../refusals.ts';

export const { cannotExpress, refuseRest } = refusals(
  "chat completions, and this model's provider has no /v1/responses",
);
