/**
 * A mutant is killed by the first counterexample of a property: a smaller one would only take time. Nor do those that
 * none finds soon wait for all runs of a property.
 */
import fc from 'fast-check';

fc.configureGlobal({ endOnFailure: true, interruptAfterTimeLimit: 2_000 });
