/* For each kind of crowd (crowd.h), deep red/black trees with at most so many nodes. They came out of a
 * search for the dearest ones that is not finished: some that make more rotations or recolourings are
 * not among them. A shape is written in preorder: B or R and both subtrees, a point for none. */
#ifndef TREE_SHAPES_H
#define TREE_SHAPES_H

#define SHAPES_NODES_MAX 11

struct shape {
    uint8_t place; /* node at which the other thread comes or is taken out */
    uint8_t to;    /* where it, or the caller, goes among the rest */
    bool apart;    /* threads have other priorities than the one that is looked for */
    const char *tree;
};

struct shapes {
    uint8_t most; /* nodes at most */
    uint8_t count;
    struct shape shapes[4];
};

static const struct shapes shapes[CROWD_KINDS][3] = {
    [CROWD_JOIN] = {
     {3, 2,
      {{1, 0, true, "BR..."},
       {2, 0, false, "B.R.."}}},
     {8, 2,
      {{6, 0, false, "BBR...RBR..R..B.."},
       {3, 0, true, "BRBR...BR...B.."}}},
     {11, 2,
      {{11, 0, false, "BBB..B..BB..RB..BR..R.."},
       {3, 0, true, "BBRBR...BR...B..BB..B.."}}},
    },
    [CROWD_LEAD] = {
     {3, 2,
      {{0, 0, false, "BR..."},
       {0, 0, false, "BR..R.."}}},
     {8, 2,
      {{0, 0, false, "BRBR..R..B..B.."},
       {0, 0, false, "BRBR...B..B.."}}},
     {11, 1,
      {{0, 0, false, "BBRBR..R..B..B..BB..B.."}}},
    },
    [CROWD_LEAVE] = {
     {3, 2,
      {{0, 0, false, "BB..B.."},
       {0, 0, true, "BB..B.."}}},
     {8, 2,
      {{0, 0, false, "BB..RBR...B.."},
       {0, 0, false, "BRBR...B..B.."}}},
     {11, 2,
      {{0, 0, false, "BBB..RBR...B..BB..B.."},
       {0, 0, false, "BBRBR...B..B..BB..B.."}}},
    },
    [CROWD_TAKE] = {
     {3, 2,
      {{1, 0, false, "BB..B.."},
       {2, 0, false, "BB..B.."}}},
     {8, 2,
      {{1, 0, false, "BB..RBR...B.."},
       {3, 0, false, "BRBR...BR...B.."}}},
     {11, 3,
      {{1, 0, false, "BBB..RBR...B..BB..B.."},
       {10, 0, false, "BBBR...B..BRB..B.R..B.."},
       {3, 0, false, "BBRBR...BR...B..BB..B.."}}},
    },
    [CROWD_MOVE] = {
     {3, 2,
      {{1, 2, false, "BB..B.."},
       {2, 1, true, "BB..B.."}}},
     {8, 2,
      {{1, 5, false, "BB..RBR...BR..."},
       {3, 6, false, "BBR...RBR...BR..."}}},
     {11, 4,
      {{10, 1, false, "BBBR...B..BRB..B.R..B.."},
       {9, 10, true, "BBB..B..BB..RB..BR..R.."},
       {3, 1, false, "BBRBR...BR...B..BB..B.."},
       {1, 5, false, "BBB..B..BB..RBR..R..B.."}}},
    },
    [CROWD_YIELD] = {
     {3, 1,
      {{0, 0, false, "BB..B.."}}},
     {8, 2,
      {{0, 0, false, "BB..RBR...B.."},
       {0, 0, false, "BRBR...B..B.."}}},
     {11, 2,
      {{0, 0, false, "BBB..RBR...B..BB..B.."},
       {0, 0, false, "BBRBR...B..B..BB..B.."}}},
    },
    [CROWD_BACK] = {
     {4, 2,
      {{0, 2, false, "BB..BR..."},
       {0, 3, false, "BBR...B.."}}},
     {8, 2,
      {{0, 4, false, "BB..RBR...BR..."},
       {0, 5, false, "BRBR...BR..R..B.."}}},
     {11, 2,
      {{0, 9, false, "BBB..RBR...B..BB..BR..."},
       {0, 3, false, "BBRBR...BR...B..BB..B.."}}},
    },
    [CROWD_DROP] = {
     {3, 2,
      {{0, 1, false, "BB..B.."},
       {0, 2, false, "BB..B.."}}},
     {8, 2,
      {{0, 1, false, "BB..RBR..R..B.."},
       {0, 2, false, "BRBR..R..B..B.."}}},
     {11, 2,
      {{0, 1, false, "BBB..RBR..R..B..BB..B.."},
       {0, 2, false, "BBRBR..R..B..B..BB..B.."}}},
    },
    [CROWD_BEST] = {
     {3, 1,
      {{0, 0, false, "BR..."}}},
     {8, 1,
      {{0, 0, false, "BRBR...B..B.."}}},
     {11, 1,
      {{0, 0, false, "BBRBR...B..B..BB..B.."}}},
    },
};

/* A thread that waits goes to `place` among those that wait already. */
static const struct shapes waiting_shapes[3] = {
     {3, 2,
      {{0, 0, false, "BR..."},
       {2, 0, false, "B.R.."}}},
     {8, 2,
      {{5, 0, false, "BB..RBR..R..B.."},
       {0, 0, false, "BRBR...B..B.."}}},
     {11, 2,
      {{9, 0, false, "BBB..B..BB..RBR..R..B.."},
       {0, 0, false, "BBRBR...B..B..BB..B.."}}},
};

/* The thread at `place` is taken out. */
static const struct shapes removing_shapes[3] = {
     {3, 2,
      {{1, 0, false, "BB..B.."},
       {0, 0, true, "BB..B.."}}},
     {8, 2,
      {{1, 0, false, "BB..RBR...B.."},
       {0, 0, false, "BRBR...B..B.."}}},
     {11, 3,
      {{1, 0, false, "BBB..RBR...B..BB..B.."},
       {9, 0, false, "BBB..B..BRB..B.R..B.."},
       {0, 0, false, "BBRBR...B..B..BB..B.."}}},
};

#endif
