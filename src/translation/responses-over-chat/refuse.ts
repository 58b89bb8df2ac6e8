import { refusals } from '../refusals.ts';

export const { cannotExpress, refuseRest } = refusals(
  "as a chat completion, and this model's provider has no /v1/responses",
);
