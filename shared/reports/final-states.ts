/** The states in which an order or a transaction changes no more: `new`, `mixed` and `locked` are those in which it may. */
export const FINAL_STATES: readonly string[] = ['void', 'effective', 'paid'];
