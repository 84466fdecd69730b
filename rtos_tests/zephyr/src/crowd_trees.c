/* Run queues and wait queues that are red/black trees; see crowd.h.
 *
 * A tree is written directly: real threads and stand-ins, which never run, are linked in the shape
 * that tree_shapes.h gives, with priorities and order keys that rise from left to right. Before
 * another thread runs, or right after the call, the stand-ins are taken out again.
 */
#include "crowd.h"

#ifdef CONFIG_SCHED_SCALABLE

#include <zephyr/sys/rb.h>

#include "tree_shapes.h"

BUILD_ASSERT(READY_COUNT_MAX <= SHAPES_NODES_MAX && WAITING_MAX <= SHAPES_QUEUE_MAX);

#define NODES_MAX (SHAPES_NODES_MAX + 2)

static struct k_thread stand_ins[NODES_MAX], waiting_stand_ins[NODES_MAX];
static bool built;
static struct _priq_rb *waiting_queue;

/* Threads whose priority was written over, and a thread that was taken out of the run queue. */
static struct {
    k_tid_t thread;
    int8_t priority;
} changed[2];
static k_tid_t put_aside;

/* ---- trees ----------------------------------------------------------------------------------- */

static const char *text;
static k_tid_t *next_node;

/* The shape in preorder: B or R and both subtrees, a point for none. The colour is the lowest bit of
 * the left pointer. */
static struct rbnode *grow(unsigned depth, unsigned *deepest)
{
    const char colour = *text++;
    struct rbnode *left, *node;

    if (colour == '.')
        return NULL;
    *deepest = MAX(*deepest, depth);
    left = grow(depth + 1, deepest);
    node = &(*next_node++)->base.qnode_rb;
    node->children[0] = (struct rbnode *)((uintptr_t)left | (colour == 'B'));
    node->children[1] = grow(depth + 1, deepest);
    return node;
}

static void plant(struct _priq_rb *queue, const char *shape, k_tid_t *nodes, unsigned count)
{
    unsigned deepest = 0;

    for (unsigned i = 0; i < count; i++)
        nodes[i]->base.order_key = i;
    text = shape;
    next_node = nodes;
    queue->tree.root = grow(1, &deepest);
    queue->tree.max_depth = (int)deepest;
    queue->next_order_key = count;
    CHECK(*text == '\0' && next_node == nodes + count);
}

/* The real threads of a queue, in their order. */
static unsigned gather(struct _priq_rb *queue, k_tid_t *into)
{
    struct k_thread *thread;
    unsigned count = 0;

    RB_FOR_EACH_CONTAINER(&queue->tree, thread, base.qnode_rb) {
        if (IN_RANGE((uintptr_t)thread, (uintptr_t)stand_ins,
                     (uintptr_t)(stand_ins + NODES_MAX) - 1) ||
            IN_RANGE((uintptr_t)thread, (uintptr_t)waiting_stand_ins,
                     (uintptr_t)(waiting_stand_ins + NODES_MAX) - 1))
            continue;
        CHECK(count < NODES_MAX);
        into[count++] = thread;
    }
    return count;
}

static void replant(struct _priq_rb *queue, k_tid_t *threads, unsigned count)
{
    queue->tree.root = NULL;
    queue->tree.max_depth = 0;
    for (unsigned i = 0; i < count; i++) {
        threads[i]->base.order_key = i;
        rb_insert(&queue->tree, &threads[i]->base.qnode_rb);
    }
    queue->next_order_key = count;
}

static unsigned nodes_of(const char *shape)
{
    unsigned count = 0;

    for (; *shape != '\0'; shape++)
        count += *shape != '.';
    return count;
}

/* ---- the run queue --------------------------------------------------------------------------- */

static const struct shapes *shapes_for(const struct shapes *found, unsigned count)
{
    while (found->most < count)
        found++;
    return found;
}

static const struct shape *shape_of(enum crowd kind, unsigned ready, unsigned number)
{
    const struct shapes *found = shapes_for(shapes[kind], ready);

    CHECK(number < found->count);
    return &found->shapes[number];
}

bool crowd_counts(enum crowd kind, unsigned ready)
{
    return ready <= 4 || ready == 6 || ready >= 8 || ready == READY_COUNT_MAX;
}

unsigned crowd_shapes(enum crowd kind, unsigned ready)
{
    return shapes_for(shapes[kind], ready)->count;
}

/* The priority of node i, and that of the thread that comes or changes. */
struct priorities {
    int nodes[NODES_MAX];
    int before;
    int after;
};

static void priorities_of(enum crowd kind, const struct shape *shape, unsigned count,
                          struct priorities *to)
{
    const unsigned place = shape->place, aim = shape->to;
    const int same = PRIORITY_DRIVER;

    to->before = to->after = same;
    for (unsigned i = 0; i < count; i++) {
        /* Its number among those that are not moved. */
        const unsigned rest = i - (i > place);
        int *priority = &to->nodes[i];

        switch (kind) {
        case CROWD_JOIN:
            to->before = same + shape->apart;
            *priority = i < place ? same : to->before + 1;
            break;
        case CROWD_LEAD:
            to->before = PRIORITY_ABOVE;
            *priority = i == 0 ? same : same + 1;
            break;
        case CROWD_LEAVE:
        case CROWD_WAIT:
            *priority = i == 0 || !shape->apart ? same : same + (int)i;
            break;
        case CROWD_TAKE:
            to->before = same + shape->apart;
            *priority = !shape->apart || i < place ? same : i == place ? same + 1 : same + 2;
            break;
        case CROWD_MOVE:
            if (shape->apart) {
                to->before = same + (aim >= place ? 1 : 3);
                to->after = same + (aim >= place ? 3 : 1);
                *priority = i == place ? to->before
                            : rest < MIN(place, aim) ? same
                            : rest < MAX(place, aim) ? same + 2
                                                     : same + 4;
            } else {
                to->before = aim >= place ? same : same + 1;
                *priority = i == place ? to->before : rest < aim ? same : same + 1;
            }
            break;
        case CROWD_BACK:
            *priority = i <= aim ? same : same + 1;
            break;
        case CROWD_DROP:
        case CROWD_LOWER:
            *priority = i == 0 ? PRIORITY_ABOVE - 1 : i > aim ? same + 1 : shape->apart ? PRIORITY_ABOVE : same;
            break;
        case CROWD_PASS:
            to->before = same + 2 * shape->apart;
            *priority = i == 0 ? same : i < place ? same + shape->apart : to->before + 1;
            break;
        default:
            *priority = i == 0 ? same : same + 1;
        }
    }
}

int crowd_priority(enum crowd kind, unsigned ready, unsigned number)
{
    const struct shape *shape = shape_of(kind, ready, number);
    struct priorities priorities;

    priorities_of(kind, shape, nodes_of(shape->tree), &priorities);
    return priorities.before;
}

int crowd_new_priority(unsigned ready, unsigned number)
{
    const struct shape *shape = shape_of(CROWD_MOVE, ready, number);
    struct priorities priorities;

    priorities_of(CROWD_MOVE, shape, nodes_of(shape->tree), &priorities);
    return priorities.after;
}

static void change(k_tid_t thread, int priority)
{
    if (thread->base.prio == priority)
        return;
    for (unsigned i = 0; i < ARRAY_SIZE(changed); i++)
        if (changed[i].thread == NULL) {
            changed[i].thread = thread;
            changed[i].priority = thread->base.prio;
            thread->base.prio = (int8_t)priority;
            return;
        }
    CHECK(false);
}

void crowd_start(enum crowd kind, unsigned ready, unsigned number, k_tid_t other)
{
    crowd_start_for(k_current_get(), kind, ready, number, other);
}

void crowd_start_for(k_tid_t caller, enum crowd kind, unsigned ready, unsigned number, k_tid_t other)
{
    struct _priq_rb *queue = &_kernel.ready_q.runq;
    const struct shape *shape = shape_of(kind, ready, number);
    const unsigned count = nodes_of(shape->tree), key = irq_lock();
    k_tid_t nodes[NODES_MAX], real[NODES_MAX];
    struct priorities priorities;
    unsigned found, at = kind == CROWD_BEST && other != NULL ? 1 : 0;

    CHECK(!built && count <= NODES_MAX);
    priorities_of(kind, shape, count, &priorities);
    for (unsigned i = 0; i < count; i++) {
        nodes[i] = &stand_ins[i];
        nodes[i]->base.prio = (int8_t)priorities.nodes[i];
    }
    CHECK(at < count);
    nodes[at] = caller;
    if (kind == CROWD_LEAVE || kind == CROWD_WAIT || kind == CROWD_BACK || kind == CROWD_LOWER ||
        (kind == CROWD_PASS && count > 1)) {
        const k_tid_t next = other == NULL ? driver_passer : other;

        CHECK(count > 1);
        nodes[1] = next;
        change(next, priorities.nodes[1]);
    }
    if (kind == CROWD_TAKE || kind == CROWD_MOVE) {
        nodes[shape->place] = other;
        CHECK(other->base.prio == priorities.before);
    } else if (at == 1) {
        nodes[0] = other;
    }
    /* Nobody else is in the queue, but for the least urgent thread. */
    found = gather(queue, real);
    put_aside = NULL;
    for (unsigned i = 0; i < found; i++) {
        bool used = false;

        for (unsigned k = 0; k < count; k++)
            used = used || nodes[k] == real[i];
        if (!used) {
            CHECK(real[i] == driver_passer && put_aside == NULL);
            put_aside = real[i];
        }
    }
    plant(queue, shape->tree, nodes, count);
    for (unsigned i = 0; i + 1 < count; i++)
        CHECK(queue->tree.lessthan_fn(&nodes[i]->base.qnode_rb, &nodes[i + 1]->base.qnode_rb));
    built = true;
    irq_unlock(key);
}

bool crowd_stop(void)
{
    struct _priq_rb *queue = &_kernel.ready_q.runq;
    const unsigned key = irq_lock();
    k_tid_t real[NODES_MAX];
    const bool something = built || waiting_queue != NULL;
    unsigned found;

    if (built) {
        found = gather(queue, real);
        for (unsigned i = 0; i < ARRAY_SIZE(changed); i++) {
            if (changed[i].thread != NULL)
                changed[i].thread->base.prio = changed[i].priority;
            changed[i].thread = NULL;
        }
        if (put_aside != NULL)
            real[found++] = put_aside;
        put_aside = NULL;
        replant(queue, real, found);
        built = false;
    }
    if (waiting_queue != NULL) {
        found = gather(waiting_queue, real);
        replant(waiting_queue, real, found);
        waiting_queue = NULL;
    }
    irq_unlock(key);
    return something;
}

/* ---- the wait queue -------------------------------------------------------------------------- */

unsigned crowd_waiting(unsigned count)
{
    return 0;
}

/* Stand-ins between which a thread of the driver's priority has its place. */
static void around(const struct shape *shape, unsigned count, k_tid_t *nodes)
{
    for (unsigned i = 0; i < count; i++) {
        nodes[i] = &waiting_stand_ins[i];
        nodes[i]->base.prio =
            (int8_t)(PRIORITY_DRIVER + (i >= shape->place) - (i < shape->place && shape->apart));
    }
}

void crowd_wait(_wait_q_t *queue, unsigned count, unsigned ready, unsigned number)
{
    const unsigned key = irq_lock();
    k_tid_t nodes[NODES_MAX];

    CHECK(waiting_queue == NULL && queue->waitq.tree.root == NULL);
    if (count > 0) {
        const struct shapes *found = shapes_for(queue_shapes, ready);
        const struct shape *shape = &found->shapes[number];
        const unsigned nodes_count = nodes_of(shape->tree);

        CHECK(number < found->count && nodes_count <= SHAPES_QUEUE_MAX);
        around(shape, nodes_count, nodes);
        waiting_queue = &queue->waitq;
        plant(waiting_queue, shape->tree, nodes, nodes_count);
    }
    irq_unlock(key);
}

/* ---- trees alone ------------------------------------------------------------------------------ */

static struct _priq_rb alone = {.tree = {.lessthan_fn = z_priq_rb_lessthan}};

static void measure_insert(unsigned most, const struct shape *shape)
{
    const unsigned count = nodes_of(shape->tree);
    k_tid_t nodes[NODES_MAX], coming = &stand_ins[0];

    around(shape, count, nodes);
    coming->base.prio = PRIORITY_DRIVER;
    plant(&alone, shape->tree, nodes, count);
    coming->base.order_key = alone.next_order_key;
    wcet_param(0, most);
    MEASURE(SERVICE_RB_INSERT, rb_insert(&alone.tree, &coming->base.qnode_rb));
}

static void measure_remove(unsigned most, const struct shape *shape)
{
    const unsigned count = nodes_of(shape->tree);
    k_tid_t nodes[NODES_MAX];

    for (unsigned i = 0; i < count; i++) {
        nodes[i] = &waiting_stand_ins[i];
        nodes[i]->base.prio = (int8_t)(PRIORITY_DRIVER + (shape->apart ? (int)i : 0));
    }
    plant(&alone, shape->tree, nodes, count);
    wcet_param(0, most);
    MEASURE(SERVICE_RB_REMOVE,
            rb_remove(&alone.tree, &nodes[shape->place]->base.qnode_rb));
}

static void measure_best(unsigned most, const struct shape *shape)
{
    const unsigned count = nodes_of(shape->tree);
    k_tid_t nodes[NODES_MAX];
    struct rbnode *found;

    around(shape, count, nodes);
    plant(&alone, shape->tree, nodes, count);
    wcet_param(0, most);
    MEASURE(SERVICE_RB_GET_MIN, found = z_rb_get_minmax(&alone.tree, 0));
    CHECK(found == &nodes[0]->base.qnode_rb);
}

void measure_trees(void)
{
    static const struct {
        const struct shapes *shapes;
        void (*measure)(unsigned most, const struct shape *shape);
    } kinds[] = {
        {waiting_shapes, measure_insert},
        {removing_shapes, measure_remove},
        {shapes[CROWD_BEST], measure_best},
    };

    for (unsigned kind = 0; kind < ARRAY_SIZE(kinds); kind++)
        for (unsigned most = 1; most <= SHAPES_NODES_MAX; most++) {
            const struct shapes *found = shapes_for(kinds[kind].shapes, most);

            for (unsigned number = 0; number < found->count; number++)
                kinds[kind].measure(most, &found->shapes[number]);
        }
}

#endif
