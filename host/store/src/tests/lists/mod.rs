//! Lists of tasks, and the index behind them.

mod all_tasks;
mod customer_tasks;
mod task_index;
